import type { CurrentProject } from '../../parts/current-project.tsx';
import type { Entry } from './entries.ts';
import type { Pasted } from './pasted.ts';

/** Pages that show what was pasted, if it has no page of its own. */
export function relatedEntries(pasted: Pasted, project: CurrentProject | undefined): Entry[] {
  if (!project) return [];
  const page = (path: string, label: string, detail: string): Entry => {
    const href = `/projects/${project.id}${path}`;
    return { key: href, type: 'Page', label, detail, href };
  };
  if (pasted.kind === 'wallet' && pasted.query.toLowerCase() === project.walletAddress.toLowerCase()) {
    return [page('/settings', 'Settings', 'The wallet that receives this project’s payments')];
  }
  if (pasted.kind !== 'related') return [];
  if (pasted.to === 'members') return [page('/members', 'Members', 'Members and invitations')];
  if (pasted.to === 'account') return [page(`/audit-log?actorId=${pasted.id}`, 'Audit log', 'Changes by this account')];
  return [];
}
