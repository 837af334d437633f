"""A run's models are looked at before its first release: one that is first loaded behind it would fail too late."""

from __future__ import annotations

from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.datasets.models import PublicModelDataset
from fedtext.privacy.tags import Tag
from fedtext.system.errors import FedtextError
from fedtext.system.refusal import RunRefusedError, one_or_all


def check_weights(pipeline: Pipeline, catalog: DataCatalog) -> None:
    """Check the weights of every model of a run that releases something; models of the hub are downloaded for that.

    Weights are read whole, so this is the last check. Where nothing is released, each node that loads a model checks
    it, and nothing is lost.

    Raises:
        RunRefusedError: Some are missing, NaN or infinite.
    """
    if not any(Tag.RELEASE in node.tags for node in pipeline.nodes):
        return
    asked = (catalog.get(name) for name in sorted(pipeline.inputs()) if name in catalog)
    models = {(one.kind, one.given_name): one for one in asked if isinstance(one, PublicModelDataset)}
    if faults := [fault for model in models.values() if (fault := _fault(model)) is not None]:
        raise one_or_all(RunRefusedError("models cannot be used:", code="models-unusable", faults=faults))


def _fault(model: PublicModelDataset) -> FedtextError | None:
    try:
        model.check_weights()
    except FedtextError as fault:
        return fault
    return None
