/**
 * SQL for a database's identity, which a server shares with its standbys and with nothing else: the cluster's system
 * identifier and the database's number.
 */
export const IDENTITY = `(SELECT c.system_identifier || '/' || d.oid FROM pg_control_system() c, pg_database d
  WHERE d.datname = current_database())`;
