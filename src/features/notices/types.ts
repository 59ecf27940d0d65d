import { connectorTitle } from '../../connectors/types/registry.ts';
import type { Notice } from '../../generated/prisma/client.ts';
import { typeOfId } from '../../ids.ts';

export const NOTICE_TYPES = [
  'destination.failing',
  'destination.paused',
  'destination.disabled',
  'destination.recovered',
  'delivery.held',
  'deliveries.expiring',
  'credential.expiring',
  'api_key.expiring',
  'api_key.expired',
  'transfer.offered',
  'transfer.accepted',
  'transfer.declined',
  'host.failing',
  'host.lost',
  'facilitator.unreachable',
  'payment.uncertain',
  'vendor.shutdown',
] as const;
export type NoticeType = (typeof NOTICE_TYPES)[number];

/** The values that a notice's text depends on. */
type Facts = Pick<Notice, 'subject' | 'subjectId' | 'detail' | 'count'>;

/** What a type of notice says, and the console page where the owner finds the cause, relative to the project. */
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
const sentence = (text: string) => (/[.!?…]$/.test(text) ? text : `${text}.`);
const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

const DISABLED_CAUSES: Readonly<Record<string, string>> = {
  gone: 'The destination responded with 410 Gone.',
  failing: 'No delivery has succeeded for five days.',
};

/** The text of every notice: a title, a sentence about the cause, and a sentence that says what to do. */
export const NOTICE_WORDINGS: Readonly<Record<NoticeType, Wording>> = {
  'destination.failing': {
    description: 'Deliveries to a webhook or connector have been failing for five minutes.',
    title: ({ subject }) => `Deliveries to ${subject} are failing`,
    cause: () => 'No delivery has succeeded for at least five minutes. Tollgate keeps retrying.',
    advice: () => 'Open the failed deliveries to see the responses, and fix the destination.',
    page: deliveriesPage,
  },
  'destination.paused': {
    description: 'Tollgate paused a connector and is holding its deliveries.',
    title: ({ subject }) => `${subject} is paused`,
    cause: ({ detail }) => sentence(detail ?? 'The service rejected the deliveries'),
    advice: () => 'Fix the settings or credentials, then resume the destination. Its deliveries are held until then.',
    page: destinationsPage,
  },
  'destination.disabled': {
    description: 'Tollgate disabled a webhook or connector and skips its deliveries.',
    title: ({ subject }) => `${subject} is disabled`,
    cause: ({ detail }) => DISABLED_CAUSES[detail ?? ''] ?? sentence(detail ?? 'It can no longer receive events'),
    advice: () => 'Fix and enable the destination, then replay the deliveries that it missed.',
    page: destinationsPage,
  },
  'destination.recovered': {
    description: 'A webhook or connector receives deliveries again.',
    title: ({ subject }) => `${subject} has recovered`,
    cause: () => 'A delivery succeeded.',
    advice: () => 'Waiting deliveries are being sent. Replay the deliveries that ran out of retries.',
    page: deliveriesPage,
  },
  'delivery.held': {
    description: 'A delivery is held because you must fix something first, such as a closed accounting period.',
    title: ({ subject }) => `A delivery to ${subject} is held`,
    cause: ({ detail }) => sentence(detail ?? 'The service doesn’t accept this delivery as it is'),
    advice: () => 'Other deliveries are still sent. This one is held until you resend it.',
    page: ({ subjectId }) => `/deliveries/${subjectId}`,
  },
  'deliveries.expiring': {
    description: 'Undelivered events will be deleted within three days because their retention period is ending.',
    title: ({ subject, count }) => `${counted(count, 'delivery', 'deliveries')} to ${subject} will be deleted soon`,
    cause: () => 'The events are undelivered, and their retention period ends within three days.',
    advice: () => 'Resume or fix the destination, or resend held deliveries, before then.',
    page: deliveriesPage,
  },
  'credential.expiring': {
    description: 'A connector’s credential is about to expire.',
    title: ({ subject }) => `The credential for ${subject} is about to expire`,
    cause: ({ detail }) => sentence(detail ?? 'The service limits how long a credential is valid'),
    advice: () => 'Create a new credential and save it in the connector’s settings.',
    page: destinationsPage,
  },
  'api_key.expiring': {
    description: 'An API key expires within seven days. The notice is sent again when one day is left.',
    title: ({ subject, count }) => `The API key ${subject} expires within ${count > 1 ? 'a day' : 'seven days'}`,
    cause: ({ detail }) => sentence(detail ?? 'The key was created with an expiration date'),
    advice: () => 'Create another key, and replace this one in your programs before then.',
    page: () => '/keys',
  },
  'api_key.expired': {
    description: 'An API key has expired.',
    title: ({ subject }) => `The API key ${subject} has expired`,
    cause: () => 'Requests with this key are rejected.',
    advice: () => 'If a program still needs a key, create another one. Then revoke this one.',
    page: () => '/keys',
  },
  'transfer.offered': {
    description: 'The owner offered the project to someone.',
    title: ({ subject }) => `The project has been offered to ${subject}`,
    cause: () => 'The owner wants to transfer the project.',
    advice: () => 'The owner can withdraw the offer until it is accepted. It expires after seven days.',
    page: () => '/members',
  },
  'transfer.accepted': {
    description: 'The project has a new owner.',
    title: ({ subject }) => `The project now belongs to ${subject}`,
    cause: () => 'The offer to transfer the project was accepted.',
    advice: () => 'The new owner should check the wallet that receives payments, the members, and the API keys.',
    page: () => '/members',
  },
  'transfer.declined': {
    description: 'The person who was offered the project declined.',
    title: ({ subject }) => `${subject} declined to become the owner`,
    cause: () => 'The offer to transfer the project was declined.',
    advice: () => 'The project stays with its owner, who can offer it to someone else.',
    page: () => '/members',
  },
  'host.failing': {
    description: 'A custom domain is failing its checks. After a week of failures, the project loses the domain.',
    title: ({ subject }) => `${subject} can’t be verified`,
    cause: ({ detail }) => sentence(detail ?? 'Tollgate can no longer verify that you own this domain'),
    advice: () => 'Within a week, add the TXT record from the settings, or point the domain at the gateway again.',
    page: () => '/settings',
  },
  'host.lost': {
    description: 'A custom domain no longer works for the project.',
    title: ({ subject }) => `${subject} no longer works for this project`,
    cause: ({ detail }) => sentence(detail ?? 'The project’s custom domain was changed or removed'),
    advice: ({ detail }) =>
      detail === null
        ? 'If you didn’t intend this, set the custom domain again. It stays reserved for you for 30 days.'
        : 'Add the TXT record from the settings, then click Check now.',
    page: () => '/settings',
  },
  'facilitator.unreachable': {
    description: 'The most recent payments failed because the facilitator couldn’t be reached.',
    title: () => 'Payments are failing because the facilitator can’t be reached',
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
    description: 'The vendor of a connector has announced that it will shut down the service.',
    title: ({ subject }) => `${subject} is shutting down`,
    cause: ({ detail }) => sentence(detail ?? 'The vendor has announced that the service will shut down'),
    advice: () => 'The connector’s events will no longer arrive after that date.',
    page: () => '/connectors',
  },
};

export type NoticeText = { title: string; cause: string; advice: string };

const isNoticeType = (type: string): type is NoticeType => Object.hasOwn(NOTICE_WORDINGS, type);

/** What a notice says. A newer version of the service may have stored a type that this version doesn't support. */
export function noticeText(notice: Facts & { type: string }): NoticeText {
  // Only connectors without a name are referred to by their type. Only deliveries to connectors can be held.
  const isConnector = ['Connector', 'Delivery'].includes(typeOfId(notice.subjectId) ?? '');
  const facts = isConnector ? { ...notice, subject: connectorTitle(notice.subject) } : notice;
  if (!isNoticeType(notice.type)) return { title: facts.subject, cause: sentence(notice.type), advice: '' };
  const { title, cause, advice } = NOTICE_WORDINGS[notice.type];
  return { title: title(facts), cause: cause(facts), advice: advice(facts) };
}

/** The path of the console page that shows the cause. */
export function noticePath(notice: Facts & { type: string; projectId: string }): string {
  const page = isNoticeType(notice.type) ? NOTICE_WORDINGS[notice.type].page(notice) : '';
  return `/console/projects/${notice.projectId}${page}`;
}
