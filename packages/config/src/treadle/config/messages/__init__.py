"""What people are told: values and places as text, the subject of errors, warnings given once."""
