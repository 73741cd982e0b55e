"""What stands behind a confusion matrix, and how classifiers and regressors compare."""
