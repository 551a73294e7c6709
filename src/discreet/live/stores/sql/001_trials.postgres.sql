-- An outcome from a worker that may not read outcomes. The block stays while it is handed in: a
-- release waits for it, and what comes after a release has no place. The first one stands, and
-- whoever hands in another cannot tell: the row is written in any case. Whether there was one is
-- sealed; its first byte is added to the first one of SHA-256(key, nonce, 0).
CREATE FUNCTION hand_in(of_trial BIGINT, of_block TEXT, of_slot BIGINT, sealed BYTEA)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = discreet, pg_temp AS $$
DECLARE
    opens BYTEA;
    found BYTEA;
BEGIN
    SELECT k.key INTO opens FROM open_blocks b JOIN keys k ON k.id = b.key
        WHERE b.trial = of_trial AND b.block = of_block FOR KEY SHARE OF b;
    SELECT p.outcome INTO found FROM pending p
        WHERE p.trial = of_trial AND p.block = of_block AND p.slot = of_slot FOR UPDATE;
    IF found IS NULL OR octet_length(sealed) <> octet_length(found) THEN
        RETURN;
    END IF;
    UPDATE pending SET outcome = CASE
        WHEN get_byte(found, 12) =
            get_byte(sha256(opens || substr(found, 1, 12) || '\x00000000'::bytea), 0)
        THEN sealed ELSE found END
        WHERE trial = of_trial AND block = of_block AND slot = of_slot;
END
$$;
REVOKE ALL ON FUNCTION hand_in(BIGINT, TEXT, BIGINT, BYTEA) FROM PUBLIC;
