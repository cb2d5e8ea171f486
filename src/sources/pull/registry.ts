/** All running systems that users can be read from. A new one needs a file in `systems/`, an import, an entry. */
import type { PullSystem } from './system.ts';
import { auth0 } from './systems/auth0.ts';
import { cognito } from './systems/cognito.ts';
import { entra } from './systems/entra.ts';
import { firebase } from './systems/firebase.ts';
import { fusionauth } from './systems/fusionauth.ts';
import { keycloak } from './systems/keycloak.ts';
import { keycloakDb } from './systems/keycloak-db.ts';
import { kratos } from './systems/kratos.ts';
import { ldap } from './systems/ldap.ts';
import { okta } from './systems/okta.ts';
import { sql } from './systems/sql.ts';
import { supabase } from './systems/supabase.ts';

export const PULL_SYSTEMS: readonly PullSystem[] = [
  auth0,
  cognito,
  entra,
  firebase,
  fusionauth,
  keycloak,
  keycloakDb,
  kratos,
  ldap,
  okta,
  sql,
  supabase,
];
