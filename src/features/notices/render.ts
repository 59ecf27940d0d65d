import type { Digest } from './digest-figures.ts';
import { invitationMailOf } from './invitation-mail.ts';
import type { ContactContent, MessageContent, SentNotice } from './messages.ts';
import { withoutPhoneNumbers } from './phone-numbers.ts';

const MAX_NAME_LENGTH = 60;

/** An email's subject and plain text. */
export type MailText = { subject: string; text: string };

/** The message as an email. */
export function mailOf(content: MessageContent): MailText {
  if (content.kind === 'invitation') return invitationMailOf(content);
  const safe = withoutForeignLinks(content);
  const { projectName: project, url } = safe;
  const footer = `You’re receiving this email because your address is a contact for the project “${project}” in Tollgate.`;
  const parts = [headOf(safe), ...bodyOf(safe), ...(url ? [`Console: ${url}`] : []), footer];
  return { subject: `[${project}] ${subjectOf(safe)}`, text: `${parts.join('\n\n')}\n` };
}

/**
 * The content with only our own links. Contacts may not know the owner, who chose their addresses, and also the name of the
 * project. Titles and causes contain names that the owner chose, such as a webhook's, and what its server responded.
 */
function withoutForeignLinks(content: ContactContent): ContactContent {
  const projectName = withoutLinks(shortened(content.projectName));
  if (content.kind === 'notices') {
    const notices = content.notices.map((notice) => ({
      ...notice,
      title: withoutLinks(notice.title),
      cause: withoutLinks(notice.cause),
    }));
    return { ...content, projectName, notices };
  }
  const { failures, slowest } = content.digest;
  const digest = {
    ...content.digest,
    failures: failures.map((failure) => ({ ...failure, cause: withoutLinks(failure.cause) })),
    slowest: slowest.map((one) => ({ ...one, name: withoutLinks(one.name) })),
  };
  return { ...content, projectName, digest };
}

const shortened = (name: string) =>
  name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH).toWellFormed()}…` : name;

/**
 * Text that mail programs don't turn into links. Punctuation before a space or at the end can't be part of a link. U+FEFF
 * counts as a space, but is invisible.
 */
const withoutLinks = (text: string) =>
  withoutPhoneNumbers(text).replaceAll(/[./:@\\\u3002\uff0e\uff0f\uff1a\uff20\uff61](?=[\S\ufeff])/g, '·');

/** The message as JSON for Slack's incoming webhooks, which Mattermost, Rocket.Chat, and Discord (`/slack`) also accept. */
export function slackBodyOf(content: ContactContent): string {
  const head = `*${escapeSlack(`[${content.projectName}] ${headOf(content)}`)}*`;
  const link = content.url ? [escapeSlack(content.url)] : [];
  const text = [head, ...bodyOf(content).map(escapeSlack), ...link].join('\n\n');
  return JSON.stringify({ text, unfurl_links: false });
}

/** The body for a contact's own webhook. `data` depends on the type: `notices` or `weekly_digest`. */
export function webhookBodyOf(id: string, createdAt: Date, content: ContactContent): string {
  const { kind, projectId, projectName } = content;
  const data =
    content.kind === 'notices'
      ? { projectName, notices: content.notices, moreCount: content.moreCount }
      : { projectName, ...content.digest };
  return JSON.stringify({ id, type: kind, timestamp: createdAt.toISOString(), projectId, data });
}

function subjectOf(content: ContactContent): string {
  if (content.kind === 'weekly_digest') return headOf(content);
  const [only] = content.notices;
  return content.notices.length === 1 && content.moreCount === 0 ? only!.title : headOf(content);
}

function headOf(content: ContactContent): string {
  if (content.kind === 'weekly_digest') return `Week of ${content.digest.week}`;
  const count = content.notices.length + content.moreCount;
  return count === 1 ? '1 notice' : `${count} notices`;
}

function bodyOf(content: ContactContent): string[] {
  if (content.kind === 'weekly_digest') return digestLines(content.digest);
  const more = content.moreCount > 0 ? [`${content.moreCount} more in the console.`] : [];
  return [...content.notices.map(noticeLines), ...more];
}

const noticeLines = ({ title, cause, advice, url }: SentNotice): string =>
  [title, `${cause} ${advice}`.trim(), ...(url ? [url] : [])].join('\n');

function digestLines(digest: Digest): string[] {
  const { deliveries, failures, slowest } = digest;
  const revenue = [
    `Revenue: $${digest.totalUsd} from ${digest.paymentCount} payments (${digest.failedPaymentCount} failed)`,
    `Customers: ${digest.customerCount} (${digest.newCustomerCount} new)`,
    `Deliveries: ${deliveries.succeeded} succeeded, ${deliveries.failed} failed, ${deliveries.skipped} skipped`,
  ];
  return [
    revenue.join('\n'),
    ...section(
      'Most frequent failures',
      failures.map(({ of, cause, count }) => `${count} × ${of}: ${cause}`),
    ),
    ...section(
      'Slowest destinations (95th percentile response time)',
      slowest.map(({ name, p95Ms, deliveryCount }) => `${name}: ${p95Ms} ms, ${deliveryCount} deliveries`),
    ),
  ];
}

const section = (title: string, lines: string[]): string[] =>
  lines.length === 0 ? [] : [[`${title}:`, ...lines.map((line) => `- ${line}`)].join('\n')];

/**
 * Text without mentions. Mattermost, Rocket.Chat, and Discord treat `@all` and similar words as mentions, so an
 * invisible space is added after the @. https://docs.slack.dev/messaging/formatting-message-text#escaping
 */
const escapeSlack = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/(?<!\w)@(?=(?:all|channel|everyone|here)\b)/gi, '@\u200B');
