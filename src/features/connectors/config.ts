import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { addressFields, type ConnectorConfig, secretFields, urlFields } from '../../connectors/describe.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { checkTargetUrl } from '../../egress/url.ts';
import { AppError, type FieldError, invalidField } from '../../errors.ts';
import { MASK } from '../../secrets/mask.ts';
import { parseInput } from '../../validation.ts';

/** Checks a whole config and the addresses in it. @throws AppError `VALIDATION_FAILED` with pointers into `config`. */
export function parseConfig(
  definition: ConnectorDefinition,
  config: ConnectorConfig,
  allow: EgressAllow,
): ConnectorConfig {
  const parsed = parseInput(definition.config, config, '/config');
  for (const [name, value] of Object.entries(parsed)) {
    // If a masked value replaced the secret, nobody would notice until deliveries failed.
    if (isMasked(value)) throw invalidField(`/config/${name}`, 'This is a masked secret. Send the full secret.');
  }
  for (const name of urlFields(definition)) {
    const target = checkTargetUrl(String(parsed[name]), allow);
    if (!target.ok) throw invalidField(`/config/${name}`, target.message);
  }
  return parsed;
}

/**
 * Merges changes into a stored config. Omitted fields stay unchanged, as do masked secrets that are sent back.
 * Null removes an optional field. Changing an address requires every secret, because the secrets would be sent there.
 *
 * @param current the config as it is stored and as users see it.
 * @throws AppError `VALIDATION_FAILED` with pointers into `config`.
 */
export function changeConfig(
  definition: ConnectorDefinition,
  current: { stored: ConnectorConfig; shown: ConnectorConfig },
  changes: ConnectorConfig,
  allow: EgressAllow,
): ConnectorConfig {
  const { stored, shown } = current;
  const given = Object.fromEntries(
    Object.entries(changes).filter(([name, value]) => !(name in stored && isShown(shown[name], value))),
  );
  const merged = Object.entries({ ...stored, ...given }).filter(([, value]) => value !== null);
  const changed = parseConfig(definition, Object.fromEntries(merged), allow);
  const moved = addressFields(definition).filter(({ name }) => changed[name] !== stored[name]);
  const missing = secretFields(definition, stored).filter(({ name }) => !(name in given));
  if (moved.length > 0 && missing.length > 0) {
    const titles = moved.map(({ title }) => title).join(', ');
    throw new AppError('VALIDATION_FAILED', { fields: missing.map(({ name }) => neededAgain(name, titles)) });
  }
  return changed;
}

function neededAgain(name: string, titles: string): FieldError {
  const message = `Send this secret again in full: you are changing where it is sent (${titles}).`;
  return { pointer: `/config/${name}`, message };
}

/** Whether this is a masked secret that a form sent back unchanged. */
function isShown(shown: unknown, value: unknown): boolean {
  return shown === value && isMasked(shown);
}

function isMasked(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith(MASK);
}
