import { EVENT_PAYLOAD_VERSION, type EventKind } from './kinds.ts';

/** Converts a payload to the previous version. Must be pure, because every attempt must send the same bytes. */
type DownConverter = (data: Readonly<Record<string, unknown>>) => Record<string, unknown>;

export type PayloadVersions = {
  /** The version that events are recorded in. */
  current: number;
  /** Event type → version → conversion to the previous version. Only for event types that changed in that version. */
  down: Partial<Record<EventKind, Readonly<Record<number, DownConverter>>>>;
};

/** All versions. Any change other than an added field needs a new version with its converters. */
export const PAYLOAD_VERSIONS: PayloadVersions = { current: EVENT_PAYLOAD_VERSION, down: {} };

/**
 * An event's payload as JSON, in the version that its destination is set to. The recorded event doesn't change. An
 * event older than that version isn't converted.
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
