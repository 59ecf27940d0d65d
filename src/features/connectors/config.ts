import type { ConnectorDefinition } from '../../connectors/definition.ts';
import {
  addressFields,
  type ConnectorConfig,
  describeFields,
  secretFields,
  urlFields,
} from '../../connectors/describe.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { checkTargetUrl } from '../../egress/url.ts';
import { AppError, invalidField } from '../../errors.ts';
import { isShown, neededAgain, refuseMasked } from '../../secrets/masked-secrets.ts';
import { parseInput } from '../../validation.ts';
import { refusalOf } from '../urls/refusal.ts';

/** Checks a whole config and the addresses in it. @throws AppError `VALIDATION_FAILED` with pointers into `config`. */
export function parseConfig(
  definition: ConnectorDefinition,
  config: ConnectorConfig,
  allow: EgressAllow,
): ConnectorConfig {
  const parsed = parseInput(definition.config, config, '/config');
  for (const [name, value] of Object.entries(parsed)) {
    refuseMasked(`/config/${name}`, value);
  }
  for (const name of urlFields(definition)) {
    const target = checkTargetUrl(String(parsed[name]), allow);
    if (!target.ok) throw invalidField(`/config/${name}`, refusalOf(target, 'EGRESS_ALLOW'));
  }
  return parsed;
}

/**
 * Merges changes into a stored config. Omitted fields stay unchanged, as do masked secrets that are sent back. Setting
 * an optional field to null removes it. Changing an address requires entering every secret again, because the secrets
 * would be sent to the new address.
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
  // Null removes only fields that exist, so that a misspelled name isn't ignored.
  const known = new Set(describeFields(definition).map(({ name }) => name));
  const merged = Object.entries({ ...stored, ...given }).filter(([name, value]) => value !== null || !known.has(name));
  const changed = parseConfig(definition, Object.fromEntries(merged), allow);
  const moved = addressFields(definition).filter(({ name }) => changed[name] !== stored[name]);
  const missing = secretFields(definition, stored).filter(({ name }) => !(name in given));
  if (moved.length > 0 && missing.length > 0) {
    const titles = moved.map(({ title }) => title).join(', ');
    throw new AppError('VALIDATION_FAILED', {
      fields: missing.map(({ name }) => neededAgain(`/config/${name}`, titles)),
    });
  }
  return changed;
}
