/**
 * SQL for a database's identity, which a server shares only with its standbys: the cluster's system identifier and the
 * database's number.
 */
export const IDENTITY = `(SELECT c.system_identifier || '/' || d.oid FROM pg_control_system() c, pg_database d
  WHERE d.datname = current_database())`;
