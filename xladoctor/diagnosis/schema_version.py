"""The version of the report's JSON form, apart from its model, which takes long to import."""

SCHEMA_VERSION = 3
