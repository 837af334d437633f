"""pe_sft: fine-tunes the generator on Private Evolution's best samples; reads only its survivors and its ledger."""

from functools import partial

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.pe_sft import nodes

NAME, SOURCE = "pe_sft", "pe"
PE_SFT = "params:pe_sft"
tuning_node = partial(node, namespace=NAME)


def create_pipeline() -> Pipeline:
    """From the survivors of all of Private Evolution's rounds to a synthetic data set and its privacy report."""
    return Pipeline([*_training(), *_synthetic(), *_records()])


def _training() -> list[Node]:
    return [
        tuning_node(
            nodes.choose_best_samples,
            [f"{SOURCE}_survivors", PE_SFT],
            f"{NAME}.tuned.survivors",
            name="choose_best_samples",
        ),
        tuning_node(
            nodes.train_on_best_samples,
            ["generator", f"{NAME}.tuned.survivors", PE_SFT],
            [f"{NAME}.tuned.adapter", f"{NAME}_training_log"],
            name="train_on_best_samples",
        ),
    ]


def _synthetic() -> list[Node]:
    prompts, texts, embeddings = f"{NAME}.final_prompts", f"{NAME}.final_texts", f"{NAME}.final_embeddings"
    return [
        tuning_node(
            nodes.draw_tuned_prompts,
            [f"{NAME}.tuned.survivors", "public_samples", PE_SFT],
            prompts,
            name="draw_tuned_prompts",
        ),
        tuning_node(
            nodes.write_tuned_texts,
            ["generator", f"{NAME}.tuned.adapter", prompts, PE_SFT, "params:chunking"],
            texts,
            name="write_tuned_texts",
        ),
        tuning_node(nodes.embed_tuned_texts, [texts, "encoder"], embeddings, name="embed_tuned_texts"),
        tuning_node(
            nodes.keep_tuned_texts,
            [texts, embeddings, PE_SFT],
            [f"{NAME}_synthetic", f"{NAME}_synthetic_embeddings", f"{NAME}_round_embeddings"],
            name="keep_tuned_texts",
        ),
    ]


def _records() -> list[Node]:
    return [
        tuning_node(nodes.name_cost, f"{SOURCE}_cost", f"{NAME}_cost", name="name_cost"),
        tuning_node(nodes.report_tuning, None, f"{NAME}_rounds", name="report_tuning"),
        tuning_node(
            nodes.write_tuning_report,
            [f"{SOURCE}_ledger", "release_history"],
            [f"{NAME}_privacy_report", f"{NAME}_privacy_report_text"],
            name="write_tuning_report",
        ),
    ]
