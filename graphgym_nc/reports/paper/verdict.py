"""What our figures say of the published ones."""

from graphgym_nc.reports.paper.runs import METRICS, PaperRun, percent

#: How :meth:`verdict` judges.
RULE = (
    'A verdict compares our mean with the published one. Within one published deviation it is '
    '*reproduced*. Beyond, it is *better* or *not reproduced*. Where the paper has no deviation, '
    'ours takes its place. A *variant* is not the model of the paper: it is *better*, *as '
    'published* or *worse*. A *reduced run* has fewer epochs, graphs, folds or seeds than the '
    'paper. It proves nothing about the full one.'
)


def verdict(run: PaperRun) -> str:
    """What the figure of a run says of the published one, by :obj:`RULE`."""
    published = run.published
    if published is None:
        return '-'
    factor = percent(run.experiment.table)
    gain = factor * run.mean - published.mean
    if METRICS[run.experiment.table] == 'mae':
        gain = -gain
    ours = factor * (run.std or 0.0)
    if abs(gain) <= (ours if published.std is None else published.std):
        word = 'as published' if run.variant else 'reproduced'
    elif gain > 0:
        word = 'better'
    else:
        word = 'worse' if run.variant else 'not reproduced'
    kind = 'variant: ' if run.variant else ''
    return kind + word + (' (reduced run)' if run.shortfalls else '')
