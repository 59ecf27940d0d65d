import { randomInt } from 'node:crypto';
import { z } from 'zod';
import type { Database, Transaction } from '../../database/client.ts';
import { runWithPrisma, statement } from '../../database/statement.ts';
import { AppError } from '../../errors.ts';
import { DELETED_USER_ID } from '../deletions/soft-delete.ts';
import { mayReserve, queueForHosts, releaseHost, SLUG_PREFIX, takeHost } from './host-names.ts';

const MIN_LENGTH = 3;
const MAX_LENGTH = 40;
/** Single hyphens only, so no name looks like Punycode (`xn--`). */
const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const BATCH = 50;
const SUFFIX_CHARACTERS = 'abcdefghjkmnpqrstvwxyz23456789';
const SUFFIX_LENGTH = 5;
const ATTEMPTS = 20;

/** Names that people or programs would mistake for the operator's own. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['www', 'api', 'app', 'admin', 'administrator', 'root', 'console', 'dashboard', 'gateway', 'tollgate', 'internal'],
  ...['mail', 'email', 'smtp', 'imap', 'pop', 'pop3', 'webmail', 'autoconfig', 'autodiscover', 'mta-sts', 'wpad'],
  // Programs look for keys of email users, device management, and calls at these names.
  ...['openpgpkey', 'enterpriseenrollment', 'enterpriseregistration', 'lyncdiscover', 'sip'],
  ...['postmaster', 'hostmaster', 'webmaster', 'abuse', 'noc', 'security', 'ssladmin', 'info', 'support', 'help'],
  ...['auth', 'oauth', 'login', 'signin', 'signup', 'sso', 'account', 'accounts', 'billing', 'payment', 'payments'],
  ...['pay', 'checkout', 'wallet', 'status', 'docs', 'blog', 'news', 'about', 'legal', 'ftp', 'ssh', 'vpn', 'dns'],
  ...['ns1', 'ns2', 'ns3', 'ns4', 'cdn', 'static', 'assets', 'img', 'files', 'metrics', 'health', 'localhost'],
  ...['test', 'staging', 'dev', 'demo', 'example', 'isatap', 'broadcasthost', 'graphql', 'rest', 'webhooks'],
]);

const SLUG_LIMITS = { minLength: MIN_LENGTH, maxLength: MAX_LENGTH, pattern: SLUG.source };

/** Accepts the names that a person may give a project under the operator's domain. */
export function slugInput(gatewayDomain: string | undefined) {
  return z
    .string()
    .meta(SLUG_LIMITS)
    .superRefine((slug, context) => {
      const message = gatewayDomain === undefined ? UNAVAILABLE : faultOf(slug);
      if (message) context.addIssue({ code: 'custom', message });
    });
}

const UNAVAILABLE = 'You can’t set this until the operator of this service sets GATEWAY_DOMAIN.';

function faultOf(slug: string): string | undefined {
  if (slug.length < MIN_LENGTH || slug.length > MAX_LENGTH || !SLUG.test(slug))
    return `Must be ${MIN_LENGTH} to ${MAX_LENGTH} lowercase letters, digits, and single hyphens between them.`;
  return RESERVED.has(slug) ? 'This name is reserved for the service. Choose another one.' : undefined;
}

/** The slug for a project's name, without accents and symbols. Undefined if nothing usable is left. */
export function slugOf(name: string): string | undefined {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replace(/^-+|-+$/g, '');
  return faultOf(plain) === undefined ? plain : undefined;
}

/** The slug if it is available, and then slugs with a random ending. */
function* candidatesFor(name: string): Generator<string> {
  const slug = slugOf(name);
  if (slug !== undefined) yield slug;
  const start = (slug ?? 'project').slice(0, MAX_LENGTH - SUFFIX_LENGTH - 1).replace(/-+$/, '');
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const ending = Array.from({ length: SUFFIX_LENGTH }, () => SUFFIX_CHARACTERS[randomInt(SUFFIX_CHARACTERS.length)]);
    yield `${start}-${ending.join('')}`;
  }
}

/** The account that a slug is reserved for, if there is one. */
const LOOK_UP = statement(
  'slug-look-up',
  `SELECT EXISTS (SELECT FROM "Project" WHERE "slug" = $1) AS "isTaken", (
     SELECT "userId" FROM "ReleasedHost" WHERE "host" = $2 AND "reservedUntil" > statement_timestamp()
   ) AS "reservedFor"`,
);
type LookedUp = { isTaken: boolean; reservedFor: string | null };

/** The action of giving a new project a released slug, for `requireRecentSignIn`. */
export const REUSE_SLUG = 'use a released `slug` again';

/** A new project's slug, and whether its account released it recently, so that buyers may still use it. */
type PickedSlug = { slug: string; isReleased: boolean };

/**
 * An available slug for a new project. Call `queueForHosts` first: until the transaction ends, nobody else can take the
 * slug. It has a random ending if the account has too many reservations, because deleting the project reserves its slug.
 */
export async function pickSlug(tx: Transaction, name: string, userId: string): Promise<PickedSlug> {
  const plain = slugOf(name);
  for (const slug of candidatesFor(name)) {
    const [found] = await runWithPrisma<LookedUp>(tx, LOOK_UP(slug, SLUG_PREFIX + slug));
    const { isTaken, reservedFor } = found!;
    if (isTaken || (reservedFor !== null && reservedFor !== userId)) continue;
    const isReleased = reservedFor === userId;
    if (isReleased || slug !== plain || (await mayReserve(tx, userId, 'slug'))) return { slug, isReleased };
  }
  throw new Error('could not find an available slug');
}

/**
 * Updates the reservations when a project's slug changes. Call `queueForHosts` first, and this before writing the slug.
 *
 * @throws AppError `CONFLICT` if another project has the slug, and `HOST_RESERVED` if another account released it.
 */
export async function moveSlug(tx: Transaction, userId: string, before: string | null, after: string): Promise<void> {
  if (after === before) return;
  if ((await tx.project.count({ where: { slug: after } })) > 0) {
    throw new AppError('CONFLICT', {
      detail: 'This name is already in use by another project.',
      fields: [{ pointer: '/slug', message: 'Already used by another project.' }],
    });
  }
  await takeHost(tx, SLUG_PREFIX + after, userId, 'slug');
  if (before) await releaseSlug(tx, before, userId);
}

/** Reserves a released slug for its previous account. */
export const releaseSlug = (tx: Transaction, slug: string, userId: string): Promise<void> =>
  releaseHost(tx, SLUG_PREFIX + slug, userId);

/**
 * Gives slugs to projects that have none because they were created before the operator set a domain.
 *
 * @returns how many projects got one. Safe to repeat, even in several processes at the same time.
 */
export async function assignMissingSlugs(db: Pick<Database, 'prisma'>): Promise<number> {
  for (let count = 0; ; count += BATCH) {
    const found = await db.prisma.$transaction(async (tx) => {
      await queueForHosts(tx);
      const projects = await tx.project.findMany({
        where: { slug: null, userId: { not: DELETED_USER_ID } },
        select: { id: true, name: true, userId: true },
        orderBy: { id: 'asc' },
        take: BATCH,
      });
      for (const { id, name, userId } of projects) {
        const { slug } = await pickSlug(tx, name, userId);
        await tx.project.updateMany({ where: { id, slug: null }, data: { slug } });
      }
      return projects.length;
    });
    if (found < BATCH) return count + found;
  }
}
