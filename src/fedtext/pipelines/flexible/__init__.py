"""flexible: strong silos fine-tune, all count their codes, weak ones vote; texts are resampled by the votes."""
