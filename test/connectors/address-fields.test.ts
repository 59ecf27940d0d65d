import { describe, expect, test } from 'vitest';
import { CONNECTOR_TYPES, type ConnectorType } from '../../src/connectors/definition.ts';
import { describeFields } from '../../src/connectors/describe.ts';
import { getConnector } from '../../src/connectors/types/registry.ts';
import { EVENT_TYPES } from '../../src/events/types.ts';
import { OTHER_ADDRESSES, sampleConfig } from './support/configs.ts';
import { sampleContext, sampleEvent } from './support/samples.ts';

type Config = Record<string, unknown>;

/** The hosts that a connector with this config would call first, to deliver and to probe. */
function hostsFor(type: ConnectorType, config: Config): string[] {
  const { build, probe } = getConnector(type);
  const requests = EVENT_TYPES.map((eventType) => build([sampleEvent(eventType)], config, sampleContext()));
  return [...requests, ...(probe ? [probe.build(config)] : [])].flatMap((request) =>
    'skip' in request ? [] : [new URL(request.url).host],
  );
}

describe.each(CONNECTOR_TYPES)('the config fields of type %s', (type) => {
  const definition = getConnector(type);
  const fields = describeFields(definition);
  const config = sampleConfig(type, 'all');

  test('are marked if and only if they determine where requests go', () => {
    const marked = fields.flatMap(({ name, decidesAddress }) => (decidesAddress ? [name] : []));
    expect(marked).toEqual(Object.keys(OTHER_ADDRESSES[type] ?? {}));
  });

  test("don't change the host unless they are marked", () => {
    for (const { name, choices } of fields.filter(({ decidesAddress }) => !decidesAddress)) {
      const { [name]: value, ...without } = config;
      const others = [...choices, String(value).replace(/[a-z0-9]/gi, (sign) => (sign === '1' ? '2' : sign))];
      const changed = [without, ...others.map((other) => ({ ...config, [name]: other }))];
      for (const other of changed.filter((each) => definition.config.safeParse(each).success)) {
        expect(hostsFor(type, other), name).toEqual(hostsFor(type, config));
      }
    }
  });
});
