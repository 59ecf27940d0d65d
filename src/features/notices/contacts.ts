import { z } from 'zod';
import type { EgressAllow } from '../../egress/allow-list.ts';
import type { NoticeContacts } from '../../generated/prisma/client.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { NO_OPENINGS } from '../urls/project-url.ts';
import { targetUrlInput, URL_LIMITS } from '../urls/stored-url.ts';

/** A project's contacts with their secrets. An empty string means that the contact isn't set. */
export type OpenContacts = { emails: string[]; webhookUrl: string; webhookSecret: string; slackUrl: string };

type SealedColumn = 'webhookUrl' | 'webhookSecret' | 'slackUrl';

const MAX_EMAILS = 10;
const URL_OR_EMPTY = { ...URL_LIMITS, pattern: `^$|${URL_LIMITS.pattern}` };

/**
 * Checks the input for contacts. A URL may be null or empty, which removes it. Masked URLs are checked later. Other
 * fields that are null stay unchanged.
 */
export function contactsInput(egressAllow: EgressAllow) {
  const url = z
    .union([z.literal('').transform(() => null), targetUrlInput(egressAllow)])
    .meta(URL_OR_EMPTY)
    .nullish();
  return z.strictObject({
    emails: z
      .array(z.email('Must be an email address.').max(254, 'Must be at most 254 characters.'))
      .max(MAX_EMAILS, `Must have at most ${MAX_EMAILS} addresses.`)
      .transform((emails) => [...new Set(emails)])
      .nullish(),
    webhookUrl: url,
    slackUrl: url,
    weeklyDigest: z.boolean().nullish(),
  });
}

/** The rules that don't depend on a server's configuration. */
export const CONTACTS_RULES = contactsInput(NO_OPENINGS.any);

/** The cell that a contact's secret is encrypted for. The row's ID is the project's ID. */
export const contactCell = (projectId: string, column: SealedColumn) => ({
  table: 'NoticeContacts',
  column,
  rowId: projectId,
  projectId,
});

/** Decrypts stored contacts. If there is no row, there are no contacts. */
export function openContacts(
  secretBox: Pick<SecretBox, 'open'>,
  row: Pick<NoticeContacts, 'projectId' | 'emails' | SealedColumn> | null,
): OpenContacts {
  const open = (column: SealedColumn) =>
    row && row[column] !== '' ? secretBox.open(row[column], contactCell(row.projectId, column)) : '';
  return {
    emails: row?.emails ?? [],
    webhookUrl: open('webhookUrl'),
    webhookSecret: open('webhookSecret'),
    slackUrl: open('slackUrl'),
  };
}
