import type { InvitationContent } from './messages.ts';
import { hasPhoneNumber } from './phone-numbers.ts';

const MAX_NAME_LENGTH = 60;
/** Characters that links contain, also those that browsers read like them. */
const LINK_PUNCTUATION = /[./:@\\\u3002\uff0e\uff0f\uff1a\uff20\uff61]/;

/** The email about an invitation, as subject and plain text. */
export function invitationMailOf(content: InvitationContent): { subject: string; text: string } {
  const { url, role, expiresAt } = content;
  const project = harmless(content.projectName);
  const isOffer = role === 'OWNER';
  const what = isOffer ? 'Offer to own' : 'Invitation to';
  const subject = project ? `${what} the project “${project}” in Tollgate` : `${what} a project in Tollgate`;
  const sender = harmlessSender(content.invitedByName) ?? 'Someone';
  const where = url ? `To accept or decline, sign in: ${url}` : 'To accept or decline, sign in to the console.';
  const parts = [
    isOffer ? offerOf(sender, project) : invitationOf(sender, project, role),
    where,
    `Sign in with this email address. The ${isOffer ? 'offer' : 'invitation'} expires on ${expiresAt.slice(0, 10)}.`,
    'If you don’t know the sender, ignore this email.',
  ];
  return { subject, text: `${parts.join('\n\n')}\n` };
}

const named = (project: string | undefined) => (project ? `the project “${project}”` : 'a project');

const invitationOf = (sender: string, project: string | undefined, role: string) =>
  `${sender} invites you to ${named(project)} in Tollgate, with the ${role.toLowerCase()} role.`;

const offerOf = (sender: string, project: string | undefined) =>
  `${sender} offers you ownership of ${named(project)} in Tollgate. If you accept, the project counts toward your account’s limits.`;

/** A name that a stranger chose. Undefined if it is long or could be mistaken for a link or a phone number. */
function harmless(name: string): string | undefined {
  const isHarmless = name.length <= MAX_NAME_LENGTH && !LINK_PUNCTUATION.test(name) && !hasPhoneNumber(name);
  return isHarmless ? name : undefined;
}

/** The sender’s name, or email address. */
function harmlessSender(name: string): string | undefined {
  const isAddress = name.length <= MAX_NAME_LENGTH && /^[\w.+-]+@[\w.-]+$/.test(name);
  return isAddress ? name : harmless(name);
}
