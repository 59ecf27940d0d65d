/** The actions in the audit log and their descriptions. */
export const AUDIT_ACTION_DESCRIPTIONS = {
  'project.created': 'A project was created.',
  'project.updated': 'A project’s settings, such as its wallet, were changed.',
  'project.deleted': 'A project and everything in it were deleted.',
  'endpoint.created': 'An endpoint was created.',
  'endpoint.updated': 'An endpoint was changed.',
  'endpoint.deleted': 'An endpoint was deleted.',
  'api_key.created': 'An API key was created.',
  'api_key.revoked': 'An API key was revoked.',
  'webhook.created': 'A webhook was created.',
  'webhook.updated': 'A webhook was changed, enabled, or disabled.',
  'webhook.deleted': 'A webhook was deleted.',
  'webhook.secret_rotated': 'A webhook’s signing secret was rotated.',
  'connector.created': 'A connector was created.',
  'connector.updated': 'A connector was changed, enabled, or disabled.',
  'connector.deleted': 'A connector was deleted.',
  'contacts.updated': 'The contacts who get notices were changed.',
  'replay.created': 'A replay was started.',
  'replay.cancelled': 'A replay was canceled.',
} as const;

export type AuditAction = keyof typeof AUDIT_ACTION_DESCRIPTIONS;
export const AUDIT_ACTIONS = Object.keys(AUDIT_ACTION_DESCRIPTIONS) as AuditAction[];
