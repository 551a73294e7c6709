"""Five minutes: what does privacy cost on three arms? From docs/researchers.md."""

import discreet

policies = [discreet.policy("imed"), discreet.policy("dp-imed", epsilon=1.0)]
arms = discreet.Bernoulli([0.75, 0.625, 0.5])
comparison = discreet.compare(policies, arms, horizon=2_000, runs=40, seed=1)
for result in comparison:
    print(result.name, round(float(result.final_regret.mean()), 1), result.guarantee.short())
