"""Ten minutes: the size of a trial of two arms, and its protocol. From docs/papers.md."""

import discreet
from discreet.report import Study, papers

needed = discreet.size(0.5, 0.3, power=0.8, looks=2, epsilon=1.0)
print(needed.participants)
design = discreet.confirm.design(needed.participants, looks=2, epsilon=1.0)
trial = discreet.Trial(design, ["drug", "placebo"], deadline="28 days", missing=0)
study = Study(
    title="Drug against placebo",
    question="Does the drug prevent relapse?",
    outcome="no relapse within 28 days",
    contact="trials@example.org",
)
papers(trial, study).write("papers.html")
