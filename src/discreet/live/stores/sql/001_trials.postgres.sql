-- For workers that may not read outcomes. A block is held first, and its key read then: a release,
-- or a withdrawal that puts another key in place, waits for whoever is here, and whoever comes later
-- reads what it has left.

-- What was sealed: its text was added to the bytes of SHA-256(key, nonce, 0), ...
CREATE FUNCTION opened(key BYTEA, hidden BYTEA) RETURNS BYTEA LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    nonce BYTEA := substr(hidden, 1, 12);
    text BYTEA := substr(hidden, 13);
    pad BYTEA;
BEGIN
    FOR n IN 0 .. octet_length(text) - 1 LOOP
        IF n % 32 = 0 THEN
            pad := sha256(key || nonce || int4send(n / 32));
        END IF;
        text := set_byte(text, n, get_byte(text, n) # get_byte(pad, n % 32));
    END LOOP;
    RETURN text;
END
$$;
CREATE FUNCTION resealed(old BYTEA, key BYTEA, hidden BYTEA) RETURNS BYTEA LANGUAGE sql IMMUTABLE
SET search_path = discreet, pg_temp AS $$
    SELECT substr(hidden, 1, 12) || opened(key, substr(hidden, 1, 12) || opened(old, hidden))
$$;

-- An outcome, sealed under a key; false if the block has another one by now. The first one stands,
-- or the last one if it may be corrected, unless it was withdrawn. Whoever hands in another cannot
-- tell: the row is written in any case.
CREATE FUNCTION hand_in(
    of_trial BIGINT, of_block TEXT, of_slot BIGINT, under BYTEA, sealed BYTEA, corrects BOOLEAN)
RETURNS BOOLEAN LANGUAGE plpgsql SECURITY DEFINER SET search_path = discreet, pg_temp AS $$
DECLARE
    opens BYTEA;
    hidden BYTEA;
    text BYTEA;
BEGIN
    PERFORM 1 FROM open_blocks b WHERE b.trial = of_trial AND b.block = of_block FOR KEY SHARE;
    SELECT k.key INTO opens FROM open_blocks b JOIN keys k ON k.id = b.key
        WHERE b.trial = of_trial AND b.block = of_block;
    IF opens <> under THEN
        RETURN FALSE;
    END IF;
    SELECT p.outcome INTO hidden FROM pending p
        WHERE p.trial = of_trial AND p.block = of_block AND p.slot = of_slot FOR UPDATE;
    IF hidden IS NULL OR octet_length(sealed) <> octet_length(hidden) THEN
        RETURN TRUE;
    END IF;
    text := opened(opens, hidden);
    UPDATE pending SET outcome = CASE
        WHEN get_byte(text, 0) = 0 OR (corrects AND text <> '\x01c000000000000000'::bytea)
        THEN sealed ELSE hidden END
        WHERE trial = of_trial AND block = of_block AND slot = of_slot;
    RETURN TRUE;
END
$$;

-- A withdrawal: `sealed` stands in place of the outcome, and all that is private of the block goes
-- under a fresh key.
CREATE FUNCTION take_back(
    of_trial BIGINT, of_block TEXT, of_slot BIGINT, fresh BYTEA, sealed BYTEA)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = discreet, pg_temp AS $$
DECLARE
    opens BYTEA;
    number BIGINT;
BEGIN
    PERFORM 1 FROM open_blocks b WHERE b.trial = of_trial AND b.block = of_block FOR UPDATE;
    SELECT k.key, k.id INTO opens, number FROM open_blocks b JOIN keys k ON k.id = b.key
        WHERE b.trial = of_trial AND b.block = of_block;
    UPDATE pending SET
        outcome = CASE WHEN slot = of_slot THEN sealed ELSE resealed(opens, fresh, outcome) END,
        action = CASE WHEN private = 1 THEN resealed(opens, fresh, action) ELSE action END
        WHERE trial = of_trial AND block = of_block;
    UPDATE open_blocks SET answered = resealed(opens, fresh, answered)
        WHERE trial = of_trial AND block = of_block;
    UPDATE keys SET key = fresh WHERE id = number;
END
$$;

-- Another place of somebody who may have withdrawn: then it is withdrawn too.
CREATE FUNCTION go_with(
    of_trial BIGINT, from_block TEXT, from_slot BIGINT, of_block TEXT, of_slot BIGINT,
    sealed BYTEA)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = discreet, pg_temp AS $$
DECLARE
    gone BOOLEAN;
BEGIN
    SELECT opened(k.key, p.outcome) = '\x01c000000000000000'::bytea INTO gone
        FROM pending p JOIN open_blocks b ON b.trial = p.trial AND b.block = p.block
        JOIN keys k ON k.id = b.key
        WHERE p.trial = of_trial AND p.block = from_block AND p.slot = from_slot;
    UPDATE pending SET outcome = CASE WHEN gone THEN sealed ELSE outcome END
        WHERE trial = of_trial AND block = of_block AND slot = of_slot;
END
$$;
REVOKE ALL ON FUNCTION hand_in(BIGINT, TEXT, BIGINT, BYTEA, BYTEA, BOOLEAN) FROM PUBLIC;
REVOKE ALL ON FUNCTION take_back(BIGINT, TEXT, BIGINT, BYTEA, BYTEA) FROM PUBLIC;
REVOKE ALL ON FUNCTION go_with(BIGINT, TEXT, BIGINT, TEXT, BIGINT, BYTEA) FROM PUBLIC;
