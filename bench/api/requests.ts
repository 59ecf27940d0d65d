import type { Data } from './data.ts';
import { type ApiRequest, UNIQUE } from './load.ts';
import { GRAPHQL_SERVERS, REST_SERVERS, type ServerName } from './server.ts';

export type Part = { title: string; names: readonly ServerName[]; request(data: Data): ApiRequest };

/** The prefix of the paths of endpoints that the servers create. */
export const NEW_PATHS = '/new/';
const FIELDS = 'id path upstreamUrl priceUsd description isActive forwardedHeaders createdAt updatedAt';
const NEW_ENDPOINT = {
  path: `${NEW_PATHS}${UNIQUE}`,
  upstreamUrl: 'https://upstream.example/data',
  priceUsd: '0.01',
  description: 'Data',
};

function rest(title: string, request: (data: Data) => ApiRequest): Part {
  return { title: `REST: ${title}`, names: REST_SERVERS, request };
}

function graphql(title: string, contains: string, of: (data: Data) => { query: string; variables: unknown }): Part {
  const request = (data: Data): ApiRequest => ({
    method: 'POST',
    path: '/graphql',
    body: JSON.stringify(of(data)),
    status: 200,
    contains,
    inTurn: data.emptyProjectIds,
  });
  return { title: `GraphQL: ${title}`, names: GRAPHQL_SERVERS, request };
}

const endpointsOf = ({ projectId }: { projectId: string }) => `/api/projects/${projectId}/endpoints`;

/** The benchmark's parts, by name. */
export const PARTS: Record<string, Part> = {
  'rest-one': rest('get an endpoint', (data) => ({
    method: 'GET',
    path: `${endpointsOf(data)}/${data.endpointId}`,
    status: 200,
    contains: '"priceUsd":"0.01"',
  })),
  'rest-list': rest('list 20 endpoints', (data) => ({
    method: 'GET',
    path: `${endpointsOf(data)}?limit=20`,
    status: 200,
    contains: '"priceUsd":"0.01"',
  })),
  'rest-create': rest('create an endpoint', ({ emptyProjectIds }) => ({
    method: 'POST',
    path: endpointsOf({ projectId: emptyProjectIds[0]! }),
    body: JSON.stringify(NEW_ENDPOINT),
    status: 201,
    contains: '"priceUsd":"0.01"',
    inTurn: emptyProjectIds,
  })),
  'graphql-one': graphql('get an endpoint', '"priceUsd":"0.01"', ({ projectId, endpointId }) => ({
    query: `query ($project: ID!, $id: ID!) { project(id: $project) { endpoint(id: $id) { ${FIELDS} } } }`,
    variables: { project: projectId, id: endpointId },
  })),
  'graphql-nested': graphql('list 5 projects with 10 endpoints each', '"priceUsd":"0.01"', () => ({
    query: `query { projects(first: 5) { nodes { id name endpoints(first: 10) { nodes { ${FIELDS} } } } } }`,
    variables: {},
  })),
  'graphql-create': graphql('create an endpoint', '"priceUsd":"0.01"', ({ emptyProjectIds: [projectId] }) => ({
    query: `mutation ($input: CreateEndpointInput!) { createEndpoint(input: $input) { endpoint { ${FIELDS} } } }`,
    variables: { input: { projectId, ...NEW_ENDPOINT } },
  })),
};
