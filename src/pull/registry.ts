/** All running systems that users can be read from. A new one needs a file in `systems/`, an import, an entry. */
import type { PullSystem } from './system.ts';
import { keycloakDb } from './systems/keycloak-db/keycloak-db.ts';

export const PULL_SYSTEMS: readonly PullSystem[] = [keycloakDb];
