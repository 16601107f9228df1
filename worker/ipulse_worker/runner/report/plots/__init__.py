"""Builders of the report's SVG plots. Colours come from the page's style sheet."""
