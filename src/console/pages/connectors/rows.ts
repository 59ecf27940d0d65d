import type { ConnectorsQuery, ConnectorTypesQuery } from '../../../generated/console/connectors.ts';

export type ConnectorRow = NonNullable<ConnectorsQuery['project']>['connectors']['nodes'][number];
export type ConnectorInfo = NonNullable<ConnectorTypesQuery['connectorTypes']>[number];
