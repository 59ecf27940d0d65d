import {
  type FieldNode,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { deprecatedField } from './deprecation.ts';
import { operationOf, rootType } from './document-types.ts';
import type { Column } from './export/formats.ts';
import { EVENT_DATA } from './openapi-events.ts';
import { addComponent, type Json, typeSchema, valueSchema, wrapLike } from './openapi-schemas.ts';
import type { RestRoute } from './routes/route.ts';

/** The components for fields that are any JSON in GraphQL. */
const VALUES: Readonly<Record<string, string>> = {
  'Webhook.filter': 'EventContentFilter',
  'Connector.filter': 'EventContentFilter',
  'Endpoint.inputSchema': 'EndpointInputSchema',
};

type SelectedField = Pick<FieldNode, 'name' | 'alias' | 'selectionSet' | 'directives'>;

/**
 * The schema for the route's part of the result (for exports, a single row), with the fields that its document selects.
 * Every object is a component with a name, so that generated clients have a type for it.
 */
export function responseSchema(schema: GraphQLSchema, route: RestRoute, schemas: Json): Json {
  let type = rootType(schema, route.document) as GraphQLOutputType;
  let selection = operationOf(route.document).selectionSet;
  let payload = type;
  for (const [index, name] of route.at.entries()) {
    const field = (getNamedType(type) as GraphQLObjectType).getFields()[name]!;
    selection = select(route, selection, name);
    type = field.type;
    if (index === 0) payload = type;
  }
  if (route.kind === 'list' || route.isPaged) {
    const item = getNamedType((getNamedType(type) as GraphQLObjectType).getFields().nodes!.type);
    const fields = select(route, selection, 'nodes');
    return route.isPaged ? selected(route, item, fields, schemas) : listOf(item, fields, route, schemas);
  }
  if (route.kind === 'all') return listOf(getNamedType(type), selection, route, schemas);
  if (route.component) {
    const resource = objectSchema(route, getNamedType(type) as GraphQLObjectType, selection, schemas);
    return addComponent(schemas, route.component.name, { ...resource, description: route.component.description });
  }
  if (!route.once) return selected(route, getNamedType(type), selection, schemas);
  const resource = objectSchema(route, getNamedType(type) as GraphQLObjectType, selection, schemas);
  const fields = (getNamedType(payload) as GraphQLObjectType).getFields();
  const shown = Object.fromEntries(
    route.once.map((name) => [name, described(typeSchema(fields[name]!.type, schemas), fields[name]!.description)]),
  );
  return addComponent(schemas, `${capitalized(route.operationId)}Response`, {
    ...resource,
    required: [...(resource.required as string[]), ...route.once],
    properties: { ...(resource.properties as Json), ...shown },
  });
}

/** The fields of an export's rows, in order. */
export function columnsOf(schema: GraphQLSchema, route: RestRoute): Column[] {
  const schemas: Json = {};
  const { $ref } = responseSchema(schema, route, schemas);
  const { properties } = schemas[String($ref).split('/').at(-1)!] as { properties: Record<string, Json> };
  return Object.entries(properties).map(([name, { format }]) => ({ name, isTime: format === 'date-time' }));
}

function listOf(item: GraphQLNamedType, selection: SelectionSetNode, route: RestRoute, schemas: Json): Json {
  return addComponent(schemas, `${item.name}List`, {
    type: 'object',
    description: route.kind === 'all' ? 'The whole list.' : 'A page of a list.',
    required: ['data', 'nextCursor'],
    properties: {
      data: { type: 'array', items: selected(route, item, selection, schemas) },
      nextCursor: {
        type: ['string', 'null'],
        description: 'Pass this cursor as `after` to get the next page. Null on the last page.',
      },
    },
  });
}

function select(route: RestRoute, selection: SelectionSetNode, name: string): SelectionSetNode {
  for (const node of flatten(route, selection))
    if (node.name.value === name && node.selectionSet) return node.selectionSet;
  throw new Error(`${route.operationId}: the document does not select ${name}`);
}

/** A selection's fields, including fields from fragments. */
function flatten(route: RestRoute, { selections }: SelectionSetNode): SelectedField[] {
  return selections.flatMap((node): SelectedField[] => {
    if (node.kind === Kind.FIELD) return [node];
    if (node.kind === Kind.INLINE_FRAGMENT) return flatten(route, node.selectionSet);
    const fragment = route.document.definitions.find(
      (definition) => definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === node.name.value,
    );
    return fragment && 'selectionSet' in fragment ? flatten(route, fragment.selectionSet) : [];
  });
}

function selected(route: RestRoute, type: GraphQLNamedType, selection: SelectionSetNode, schemas: Json): Json {
  if (!isObjectType(type)) return typeSchema(type as GraphQLOutputType, schemas);
  return addResource(schemas, nameOf(type, selection), objectSchema(route, type, selection, schemas));
}

/** A resource with fields that not every route returns gets its own name, for example, `DeliveryWithAttempts`. */
function nameOf(type: GraphQLObjectType, { selections }: SelectionSetNode): string {
  const name = type.name.replace(/Payload$/, 'Response');
  const own = selections.flatMap((node) =>
    node.kind === Kind.FIELD && !isOptional(node) ? [capitalized(node.name.value)] : [],
  );
  return own.length === 0 || own.length === selections.length ? name : `${name}With${own.join('And')}`;
}

function objectSchema(route: RestRoute, type: GraphQLObjectType, selection: SelectionSetNode, schemas: Json): Json {
  const fields = type.getFields();
  const nodes = flatten(route, selection);
  const properties = Object.fromEntries(
    nodes.map((node) => {
      const { name, selectionSet } = node;
      const field = fields[name.value]!;
      const component = VALUES[`${type.name}.${name.value}`];
      const value =
        type.name === 'Event' && name.value === 'data'
          ? EVENT_DATA
          : component
            ? valueSchema(component, field.type)
            : selectionSet
              ? wrapLike(field.type, selected(route, getNamedType(field.type), selectionSet, schemas))
              : typeSchema(field.type, schemas);
      const suffix = isOptional(node) ? ` Returned only with \`expand=${name.value}\`.` : '';
      const { description, deprecationReason } = field;
      return [
        shownName(node),
        { ...described(value, `${description}${suffix}`), ...deprecatedField(deprecationReason) },
      ];
    }),
  );
  const required = nodes.filter((node) => !isOptional(node)).map(shownName);
  return { type: 'object', description: type.description, required, properties };
}

/** A field's name in responses. */
const shownName = ({ alias, name }: SelectedField) => (alias ?? name).value;

/** Whether a field is returned only if the request expands it. */
const isOptional = ({ directives }: SelectedField) => directives?.some(({ name }) => name.value === 'include') === true;

/** Adds a resource's schema. Routes that return the same resource can differ in what they expand. */
function addResource(schemas: Json, name: string, schema: Json): Json {
  const known = schemas[name] as Json | undefined;
  const properties = { ...(known?.properties as Json), ...(schema.properties as Json) };
  const optional = Object.keys(properties).filter((each) => !(schema.required as string[]).includes(each));
  const merged = { ...schema, properties };
  if (known && optional.length > 0) schemas[name] = { ...known, properties };
  return addComponent(schemas, name, merged);
}

const described = (value: Json, description: string | null | undefined): Json => ({ ...value, description });
const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
