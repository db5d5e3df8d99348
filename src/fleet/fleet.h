/* SPDX-License-Identifier: MIT
 *
 * fleet.h - the runs of many machines in a ClickHouse database: send captures, ask about them,
 * fetch one back.
 *
 * Other folders include this header and no other of this folder.
 */
#ifndef CRN_FLEET_FLEET_H
#define CRN_FLEET_FLEET_H

#include "fleet/compare.h"
#include "fleet/database.h"
#include "fleet/fetch.h"
#include "fleet/filter.h"
#include "fleet/push.h"
#include "fleet/questions.h"
#include "fleet/schema.h"

#endif
