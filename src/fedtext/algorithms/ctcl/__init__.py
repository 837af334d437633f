"""CTCL (Tan et al., "Synthesizing Privacy-Preserving Text Data via Finetuning without Finetuning Billion-Scale LLMs").

Topics are clusters of public texts with their keywords. A generator that writes a text from keywords is tuned on the
private texts under DP-SGD, each behind the keywords of its topic. Texts are then written in the proportions of a
noisy count of the topics.

| there | here |
|---|---|
| topics: clusters of public text, ten keywords each | `topics.found_topics`, `keywords.Keywords` |
| a generator pretrained on descriptions and documents | `writing.taught_weights`, on public samples |
| DP histogram of topics | `topics.noised_counts` |
| DP fine-tuning behind the topic's keywords | `training.dp_sgd.trained_weights` on `writing.training_rows` |
| texts in the histogram's proportions | `writing.written_by_topic` |
"""
