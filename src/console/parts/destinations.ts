import { useMemo } from 'react';
import { useQuery } from 'urql';
import { DestinationsDocument, type DestinationsQuery } from '../../generated/console/deliveries.ts';

export type Destination = { id: string; name: string; kind: 'webhook' | 'connector' };

/** A webhook's display name: the name that its owner gave it, or its URL without the scheme. */
export function webhookName({ name, url }: { name?: string | null | undefined; url: string }): string {
  return name ?? url.replace(/^https?:\/\//, '');
}

/** The webhooks and connectors of a project. A connector without a name gets the name of its service. */
export function destinationsOf(data: DestinationsQuery | undefined): Destination[] {
  const titles = new Map(data?.connectorTypes?.map(({ type, title }) => [type, title]));
  const webhooks = data?.project?.webhooks.nodes ?? [];
  const connectors = data?.project?.connectors.nodes ?? [];
  return [
    ...webhooks.map((webhook) => ({ id: webhook.id, name: webhookName(webhook), kind: 'webhook' as const })),
    ...connectors.map(({ id, name, type }) => ({
      id,
      name: name ?? titles.get(type) ?? type,
      kind: 'connector' as const,
    })),
  ];
}

/** The project's webhooks and connectors, by ID. */
export function useDestinations(projectId: string): ReadonlyMap<string, Destination> {
  const [{ data }] = useQuery({ query: DestinationsDocument, variables: { projectId } });
  return useMemo(() => new Map(destinationsOf(data).map((destination) => [destination.id, destination])), [data]);
}
