import { PAGE_ROUTES } from '../../pages/routes.tsx';
import { docsUrl } from '../../parts/docs-link.ts';
import type { Entry } from './entries.ts';
import { pathOf } from './places.ts';

/** Words that people look for, by the page's path. */
const KEYWORDS: Readonly<Record<string, string>> = {
  '': 'dashboard home charts revenue statistics',
  '/deliveries': 'attempts retries logs resend failed',
  '/endpoints': 'routes paths prices apis mcp',
  '/notices': 'alerts problems incidents contacts',
  '/members': 'team users roles invitations permissions transfer ownership',
  '/settings':
    'wallet domain icon buyer access allow deny block wallets limits quota networks upstream headers secret live copy delete project',
  '/payments': 'transactions charges revenue',
  '/customers': 'buyers payers wallets',
  '/webhooks': 'destinations urls signing secret',
  '/connectors': 'integrations destinations slack email',
  '/events': 'history types payloads',
  '/replays': 'resend',
  '/keys': 'tokens credentials secrets',
  '/audit-log': 'history changes activity who',
  '/limits': 'quota tier plan rate usage',
  '/rest': 'api openapi docs samples curl',
  '/graphql': 'api schema query playground',
};

/** The pages of a project, and those outside of projects. */
export function pageEntries(projectId: string | undefined): Entry[] {
  const inProject = PAGE_ROUTES.map(({ path: pattern, label }): Entry => {
    const path = pathOf(pattern);
    const href = `/projects/${projectId}${path}`;
    return { key: href, type: 'Page', label, href, keywords: KEYWORDS[path] ?? '' };
  });
  return [
    ...(projectId === undefined ? [] : inProject),
    { key: '/', type: 'Page', label: 'All projects', href: '/' },
    { key: '/invitations', type: 'Page', label: 'Your invitations', href: '/invitations', keywords: 'members shared' },
    {
      key: 'docs',
      type: 'Page',
      label: 'Documentation',
      keywords: 'docs help guide manual',
      run: () => void window.open(docsUrl(''), '_blank', 'noopener'),
    },
  ];
}
