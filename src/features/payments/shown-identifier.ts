import { hasPermission } from '../../auth/require-permission.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { redactSecret } from '../../secrets/redact.ts';

/** A payment identifier as the viewer can see it: in full for people who can see credentials, and masked for everyone else. */
export function shownIdentifier(viewer: Viewer, projectId: string, identifier: string): string {
  return viewer.kind === 'user' && hasPermission(viewer, projectId, 'CREDENTIALS')
    ? identifier
    : redactSecret(identifier);
}
