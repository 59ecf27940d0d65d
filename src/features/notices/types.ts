import type { Notice } from '../../generated/prisma/client.ts';

export const NOTICE_TYPES = [
  'destination.failing',
  'destination.paused',
  'destination.disabled',
  'destination.recovered',
  'deliveries.expiring',
  'credential.expiring',
  'host.lost',
  'facilitator.unreachable',
  'payment.uncertain',
  'vendor.shutdown',
] as const;
export type NoticeType = (typeof NOTICE_TYPES)[number];

/** What a notice's text depends on. */
type Facts = Pick<Notice, 'subject' | 'subjectId' | 'detail' | 'count'>;

/** What a notice of a type says, and the console page where the owner finds the cause, relative to the project. */
type Wording = {
  /** For the schema and the documentation. */
  description: string;
  title(facts: Facts): string;
  cause(facts: Facts): string;
  advice(facts: Facts): string;
  page(facts: Facts): string;
};

const destinationsPage = ({ subjectId }: Facts) => (subjectId.startsWith('wh_') ? '/webhooks' : '/connectors');
const deliveriesPage = ({ subjectId }: Facts) => `/deliveries?destination=${subjectId}`;
const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);
const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

const DISABLED_CAUSES: Readonly<Record<string, string>> = {
  gone: 'It responded that it no longer exists (410).',
  failing: 'No delivery has succeeded for five days.',
};

/** All texts of notices: a title, a sentence about the cause, and a sentence that says what to do. */
export const NOTICE_WORDINGS: Readonly<Record<NoticeType, Wording>> = {
  'destination.failing': {
    description: 'Deliveries to a webhook or connector have been failing for five minutes.',
    title: ({ subject }) => `Deliveries to ${subject} are failing`,
    cause: () => 'No delivery has succeeded for at least five minutes. Tollgate keeps retrying.',
    advice: () => 'Open the failed deliveries to see the responses, and fix the destination.',
    page: deliveriesPage,
  },
  'destination.paused': {
    description: 'Tollgate paused a connector and holds its deliveries.',
    title: ({ subject }) => `${subject} is paused`,
    cause: ({ detail }) => sentence(detail ?? 'The service rejected the deliveries'),
    advice: () => 'Fix the settings or credentials, then resume it. Its deliveries are held until then.',
    page: destinationsPage,
  },
  'destination.disabled': {
    description: 'Tollgate disabled a webhook or connector and skips its deliveries.',
    title: ({ subject }) => `${subject} is disabled`,
    cause: ({ detail }) => DISABLED_CAUSES[detail ?? ''] ?? sentence(detail ?? 'It can no longer receive events'),
    advice: () => 'Fix and enable it, then replay the deliveries it missed.',
    page: destinationsPage,
  },
  'destination.recovered': {
    description: 'A webhook or connector receives deliveries again.',
    title: ({ subject }) => `${subject} has recovered`,
    cause: () => 'A delivery succeeded.',
    advice: () => 'Waiting deliveries are being sent. Replay those that ran out of retries.',
    page: deliveriesPage,
  },
  'deliveries.expiring': {
    description: 'Undelivered events will be deleted within three days, because they reach the end of retention.',
    title: ({ subject, count }) => `${counted(count, 'delivery', 'deliveries')} to ${subject} will be deleted soon`,
    cause: () => 'They are undelivered, and the retention period ends within three days.',
    advice: () => 'Resume or fix the destination now to deliver them.',
    page: deliveriesPage,
  },
  'credential.expiring': {
    description: 'A connector’s credential is about to expire.',
    title: ({ subject }) => `The credential of ${subject} is about to expire`,
    cause: ({ detail }) => sentence(detail ?? 'The service limits how long a credential is valid'),
    advice: () => 'Create a new credential and save it in the connector’s settings.',
    page: destinationsPage,
  },
  'host.lost': {
    description: 'A custom domain no longer leads to the project’s endpoints.',
    title: ({ subject }) => `${subject} no longer leads to this project`,
    cause: () => 'The project’s gateway host was changed or removed.',
    advice: () => 'If you didn’t intend this, set the gateway host again. It stays reserved for you for 30 days.',
    page: () => '/settings',
  },
  'facilitator.unreachable': {
    description: 'The last payments failed because the facilitator couldn’t be reached.',
    title: () => 'Payments fail because the facilitator can’t be reached',
    cause: ({ count }) => `The last ${count} payments failed, and none has succeeded since.`,
    advice: () => 'Buyers can retry. If this continues, contact the operator of this server.',
    page: () => '/payments?status=FAILED',
  },
  'payment.uncertain': {
    description: 'The outcome of a payment has been unknown for an hour.',
    title: ({ count }) => `The outcome of ${counted(count, 'payment', 'payments')} is unknown`,
    cause: () => 'The settlement was sent, but the chain has shown no result for an hour.',
    advice: () => 'Don’t refund or resend anything yet. Tollgate keeps checking the chain.',
    page: () => '/payments?status=UNKNOWN',
  },
  'vendor.shutdown': {
    description: 'The vendor of a connector has announced that it will shut the service down.',
    title: ({ subject }) => `${subject} is shutting down`,
    cause: ({ detail }) => sentence(detail ?? 'The vendor has announced the end of the service'),
    advice: () => 'Its events will no longer arrive after that day.',
    page: () => '/connectors',
  },
};

export type NoticeText = { title: string; cause: string; advice: string };

const isNoticeType = (type: string): type is NoticeType => Object.hasOwn(NOTICE_WORDINGS, type);

/** What a notice says. A newer version of the service may have written a type that this one doesn't know. */
export function noticeText(notice: Facts & { type: string }): NoticeText {
  if (!isNoticeType(notice.type)) return { title: notice.subject, cause: sentence(notice.type), advice: '' };
  const { title, cause, advice } = NOTICE_WORDINGS[notice.type];
  return { title: title(notice), cause: cause(notice), advice: advice(notice) };
}

/** The path of the console page that shows the cause. */
export function noticePath(notice: Facts & { type: string; projectId: string }): string {
  const page = isNoticeType(notice.type) ? NOTICE_WORDINGS[notice.type].page(notice) : '';
  return `/console/projects/${notice.projectId}${page}`;
}
