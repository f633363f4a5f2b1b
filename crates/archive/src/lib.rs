//! Events as files: the formats an export can have, their compression, and where files are kept; the
//! only crate that knows Parquet and speaks to object storage.
