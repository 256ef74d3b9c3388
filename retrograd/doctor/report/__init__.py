"""What the doctor found, for people (`terminal`, `html`) and for programs (`json_form`)."""
