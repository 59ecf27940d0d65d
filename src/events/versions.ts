import { EVENT_PAYLOAD_VERSION, type EventKind } from './kinds.ts';

/** Makes the payload of a version that of the version before. Pure, so that every try has the same bytes. */
type DownConverter = (data: Readonly<Record<string, unknown>>) => Record<string, unknown>;

export type PayloadVersions = {
  /** The version that events are recorded in. */
  current: number;
  /** Kind → version → how it becomes the version before. A kind that a version did not change is not there. */
  down: Partial<Record<EventKind, Readonly<Record<number, DownConverter>>>>;
};

/** The versions there are. A change that is not only an added field makes a new one, with its converters. */
export const PAYLOAD_VERSIONS: PayloadVersions = { current: EVENT_PAYLOAD_VERSION, down: {} };

/**
 * The payload of an event in the version that its receiver wants, as JSON. Events are kept as they were recorded: one
 * that is older than what is wanted stays as it is, byte for byte.
 */
export function renderPayload(
  event: { type: string; version: number; data: string },
  wanted: number,
  { down }: PayloadVersions,
): { version: number; data: string } {
  const converters = down[event.type as EventKind] ?? {};
  const steps = Array.from({ length: Math.max(event.version - wanted, 0) }, (_, index) => event.version - index);
  const converting = steps.flatMap((version) => converters[version] ?? []);
  const version = Math.min(event.version, wanted);
  if (converting.length === 0) return { version, data: event.data };
  const data = converting.reduce((payload, convert) => convert(payload), JSON.parse(event.data));
  return { version, data: JSON.stringify(data) };
}
