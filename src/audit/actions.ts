/** What an entry of the audit log can tell of, and what it means. */
export const AUDIT_ACTION_DESCRIPTIONS = {
  'project.created': 'A project was created.',
  'project.updated': 'A project was changed, for example its wallet.',
  'project.deleted': 'A project was deleted with all that belonged to it.',
  'endpoint.created': 'An endpoint was created.',
  'endpoint.updated': 'An endpoint was changed.',
  'endpoint.deleted': 'An endpoint was deleted.',
  'api_key.created': 'An API key was created.',
  'api_key.revoked': 'An API key was revoked.',
  'webhook.created': 'A webhook was created.',
  'webhook.updated': 'A webhook was changed, switched on or off.',
  'webhook.deleted': 'A webhook was deleted.',
  'webhook.secret_rotated': 'The signing secret of a webhook was replaced.',
  'connector.created': 'A connector was created.',
  'connector.updated': 'A connector was changed, switched on or off.',
  'connector.deleted': 'A connector was deleted.',
  'replay.created': 'Deliveries were asked to be sent again.',
  'replay.cancelled': 'A replay was stopped.',
} as const;

export type AuditAction = keyof typeof AUDIT_ACTION_DESCRIPTIONS;
export const AUDIT_ACTIONS = Object.keys(AUDIT_ACTION_DESCRIPTIONS) as AuditAction[];
