"""Responses, tables in and out, evaluation logs, data sets, pools of classifiers."""
