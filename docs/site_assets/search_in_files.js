// A browser that shows the site's files from a folder does not let the search read pages for its excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
