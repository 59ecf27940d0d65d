import type { Digest } from './digest-figures.ts';
import { invitationMailOf } from './invitation-mail.ts';
import type { ContactContent, MessageContent, SentNotice } from './messages.ts';

const MAX_NAME_LENGTH = 60;

/** An email's subject and plain text. */
export type MailText = { subject: string; text: string };

/** The message as an email. */
export function mailOf(content: MessageContent): MailText {
  if (content.kind === 'invitation') return invitationMailOf(content);
  const project = withoutLinks(content.projectName);
  const footer = `You’re receiving this email because your address is a contact for the project “${project}” in Tollgate.`;
  const parts = [headOf(content), ...bodyOf(content), ...(content.url ? [`Console: ${content.url}`] : []), footer];
  return { subject: `[${project}] ${subjectOf(content)}`, text: `${parts.join('\n\n')}\n` };
}

/**
 * A project's name in a form that mail programs don't turn into a link. Contacts may not know the owner, who chose both
 * the name and the addresses.
 */
function withoutLinks(name: string): string {
  const short = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH).toWellFormed()}…` : name;
  return short.replaceAll(/[./:@\\]/g, '·');
}

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
