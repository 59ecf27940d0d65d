import { useMemo } from 'react';
import { useQuery } from 'urql';
import { DestinationsDocument } from '../../generated/console/deliveries.ts';
import { formatEnum } from './format.ts';

export type Destination = { id: string; name: string; kind: 'webhook' | 'connector' };

/** The project's webhooks and connectors, by ID. */
export function useDestinations(projectId: string): ReadonlyMap<string, Destination> {
  const [{ data }] = useQuery({ query: DestinationsDocument, variables: { projectId } });
  return useMemo(() => {
    const webhooks = data?.project?.webhooks.nodes ?? [];
    const connectors = data?.project?.connectors.nodes ?? [];
    const all: Destination[] = [
      ...webhooks.map(({ id, url }) => ({ id, name: url.replace(/^https?:\/\//, ''), kind: 'webhook' as const })),
      ...connectors.map(({ id, type }) => ({ id, name: formatEnum(type), kind: 'connector' as const })),
    ];
    return new Map(all.map((destination) => [destination.id, destination]));
  }, [data]);
}
