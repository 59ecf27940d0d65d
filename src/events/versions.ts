import { EVENT_PAYLOAD_VERSION, type EventType } from './types.ts';

/** Converts a payload to the previous or the next version. Must be pure, because every attempt must send the same bytes. */
type Converter = (data: Readonly<Record<string, unknown>>) => Record<string, unknown>;

export type PayloadVersions = {
  /** The version that events are recorded in. */
  current: number;
  /** Event type → version → conversion to the previous version. Contains only event types that changed in that version. */
  down: Partial<Record<EventType, Readonly<Record<number, Converter>>>>;
  /** Event type → version → conversion from the previous version, for `Event.payload` of older events. */
  up: Partial<Record<EventType, Readonly<Record<number, Converter>>>>;
};

/** All versions. Any change other than adding a field requires a new version and its converters. */
export const PAYLOAD_VERSIONS: PayloadVersions = { current: EVENT_PAYLOAD_VERSION, down: {}, up: {} };

/**
 * An event's payload as JSON, in the version that its destination is set to. The recorded event doesn't change. An
 * event older than that version isn't converted.
 */
export function renderPayload(
  event: { type: string; version: number; data: string },
  wanted: number,
  { down }: PayloadVersions,
): { version: number; data: string } {
  const converters = down[event.type as EventType] ?? {};
  const steps = Array.from({ length: Math.max(event.version - wanted, 0) }, (_, index) => event.version - index);
  const converting = steps.flatMap((version) => converters[version] ?? []);
  const version = Math.min(event.version, wanted);
  if (converting.length === 0) return { version, data: event.data };
  const data = converting.reduce((payload, convert) => convert(payload), JSON.parse(event.data));
  return { version, data: JSON.stringify(data) };
}

/** An event's payload in the current version, whose fields have the types declared in the API's schema. */
export function currentPayload(
  event: { type: string; version: number; data: Readonly<Record<string, unknown>> },
  { current, up }: PayloadVersions,
): Readonly<Record<string, unknown>> {
  const converters = up[event.type as EventType] ?? {};
  const steps = Array.from({ length: Math.max(current - event.version, 0) }, (_, index) => event.version + index + 1);
  return steps.flatMap((version) => converters[version] ?? []).reduce((data, convert) => convert(data), event.data);
}
