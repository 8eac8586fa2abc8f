-- The names of the jobs before 0047. Those in ASCII have one form.
UPDATE job_names SET name = search_text(name) WHERE octet_length(name) <> char_length(name) AND search_text(name) <> name;
