#!/bin/bash
# One run as a Slurm job, which goes on where its time or its node ended (docs/slurm.md).
#
#   sbatch deploy/slurm.sh data_root=/srv/fedtext,corpus.source=table,...
#   sbatch --gpus=1 deploy/slurm.sh ENV=paper data_root=/srv/fedtext,...
#
#SBATCH --job-name=fedtext
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=fedtext_%j.log
#SBATCH --signal=B:USR1@120
set -eu

options=()
if [[ ${1:-} == ENV=* ]]; then options+=(--env "${1#ENV=}"); shift; fi

# Two minutes before the end of its time the job goes back to the queue; the same command then does what is left.
trap 'scontrol requeue "$SLURM_JOB_ID"' USR1

cd "$SLURM_SUBMIT_DIR"
engine=engine.name=processes,engine.workers=$SLURM_CPUS_PER_TASK
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" .venv/bin/kedro run "${options[@]}" --params "$engine,$1" &
wait $!
