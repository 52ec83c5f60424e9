"""The paper's experiment: its table, jobs, results, comparison and plots."""
