import { globSync } from 'node:fs';
import { join } from 'node:path';
import MiniSearch, { type SearchResult } from 'minisearch';
import { expect, test } from 'vitest';
import { SEARCH } from '../../docs/.vitepress/search.ts';
import { ROOT } from './pages.ts';

/** What people type into the search, and the page that must come first. */
const QUESTIONS: Readonly<Record<string, string>> = {
  // Newcomers
  'how do I get started': 'get-started',
  'what is x402': 'faq',
  'what is a facilitator': 'glossary',
  'how do I get testnet usdc': 'faq',
  'can I refund a buyer': 'faq',
  'is the buyer charged if my api fails': 'faq',
  solana: 'faq',
  // Sellers
  'how do I set a price for an endpoint': 'gateway',
  'import openapi': 'import',
  'block a wallet': 'buyer-access',
  'limit what a wallet can buy': 'buyer-access',
  'add an api key for my upstream': 'upstream-headers',
  'use my own domain': 'custom-domains',
  'go live with a test project': 'go-live',
  'switch from testnet to mainnet': 'go-live',
  dashboard: 'console',
  'wildcard path': 'gateway',
  'revoke a leaked api key': 'authentication',
  'transfer project ownership': 'members',
  'permissions of each role': 'permissions',
  'requeue deliveries of an account': 'operators',
  'webhook secret rotation': 'webhooks',
  'port already in use': 'troubleshooting',
  'stream a response': 'streaming',
  'verify a webhook signature in python': 'verify-webhooks',
  'replay failed deliveries': 'webhooks',
  'retry schedule': 'webhooks',
  'slack messages': 'connectors/slack',
  'google sheets service account': 'connectors/google-sheets',
  'export payments as csv': 'exports',
  'invite a colleague': 'members',
  'revenue per day': 'payments',
  'get notified by email when a webhook fails': 'notices',
  'what does payment.settled contain': 'events',
  // Buyers and programs
  'how do I pay for a request': 'buyers',
  'avoid paying twice': 'buyers',
  'what does PAYMENT_UNRESOLVED mean': 'errors',
  'why do I get RATE_LIMITED': 'errors',
  'find endpoints with llms.txt': 'discovery',
  'idempotency key': 'rest',
  pagination: 'rest',
  'invalid wallet address checksum': 'mistakes',
  'breaking changes': 'versioning',
  'pay from python': 'buyers',
  'buy in go': 'buyers',
  'websocket subscription': 'live',
  'typescript client': 'sdk',
  'use tollgate with claude': 'mcp',
  'api key scopes': 'authentication',
  // Operators
  'docker compose': 'deployment',
  auth0: 'authentication',
  'environment variables': 'configuration',
  'back up the database': 'operations',
  'rotate the secret key': 'operations',
  'prometheus alerts': 'observability/',
  'block an account': 'operators',
  'how many requests can one machine handle': 'scaling',
};

/** The index that the site loads, with the same options. */
async function openIndex(): Promise<MiniSearch> {
  const [file] = globSync('dist/docs/assets/chunks/@localSearchIndexroot.*.js', { cwd: ROOT });
  const { default: json } = (await import(join(ROOT, file!))) as { default: string };
  return MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    ...SEARCH.options,
    searchOptions: SEARCH.searchOptions,
  });
}

const index = await openIndex();
const pageOf = ({ id }: SearchResult): string => (id as string).replace(/^\//, '').replace(/#.*/, '');

test.each(Object.entries(QUESTIONS))('for “%s”, the search finds the page %s first', (question, page) => {
  const found = index.search(question).slice(0, 5);
  expect(pageOf(found[0]!), found.map(({ id, score }) => `${id} ${Math.round(score)}`).join('\n')).toBe(page);
});
