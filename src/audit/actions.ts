/** The actions in the audit log and their descriptions. */
export const AUDIT_ACTION_DESCRIPTIONS = {
  'project.created': 'A project was created.',
  'project.updated': 'A project’s settings, such as its wallet, were changed.',
  'project.host_verified': 'A person verified a project’s custom domain, and the project now uses it.',
  'project.upstream_secret_rotated': 'A project’s upstream secret was rotated.',
  'project.deleted': 'A project and everything in it were deleted.',
  'project.transferred': 'A person accepted a transfer and became the project’s owner.',
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
  'member.updated': 'A member’s role was changed.',
  'member.removed': 'A member was removed or left.',
  'invitation.created': 'Someone was invited to the project.',
  'invitation.revoked': 'An invitation was revoked.',
  'invitation.accepted': 'An invited person became a member.',
  'invitation.declined': 'An invited person declined.',
  'transfer.offered': 'A project’s owner offered the project to someone.',
  'transfer.withdrawn': 'A transfer offer was withdrawn.',
  'transfer.declined': 'A person declined to become a project’s owner.',
  'replay.created': 'A replay was started.',
  'replay.canceled': 'A replay was canceled.',
  'user.updated': 'An operator changed a user’s tier or rate limit.',
  'user.blocked': 'An operator blocked a user’s account.',
  'user.unblocked': 'An operator unblocked a user’s account.',
  'user.deliveries_requeued': 'An operator resent the failed deliveries of a user’s account.',
  'mcp.tool_called': 'A program reported that it called one of the MCP server’s tools.',
} as const;

export type AuditAction = keyof typeof AUDIT_ACTION_DESCRIPTIONS;
export const AUDIT_ACTIONS = Object.keys(AUDIT_ACTION_DESCRIPTIONS) as AuditAction[];

/**
 * Actions whose stored spelling differs from their name. Entries never change, and older processes write this spelling.
 */
const STORED: Partial<Record<AuditAction, string>> = { 'replay.canceled': 'replay.cancelled' };

/** How an action is stored in the audit log. */
export const storedAction = (action: AuditAction): string => STORED[action] ?? action;

/** The action that is stored under this name. */
export const actionOf = (stored: string): AuditAction =>
  AUDIT_ACTIONS.find((action) => STORED[action] === stored) ?? (stored as AuditAction);

/**
 * The actions that clients report about themselves. All other entries record what this service itself did, so they can
 * be trusted. A report only proves that someone with access to the project sent it.
 */
export const REPORTED_ACTIONS: ReadonlySet<string> = new Set<AuditAction>(['mcp.tool_called']);
