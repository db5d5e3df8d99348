/* SPDX-License-Identifier: MIT
 *
 * The JSON of `cairn whatif`: docs/WHATIF.md.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/json.h"
#include "whatif.h"

static json_t *block_json(const crn_whatif_report *report, uint32_t block)
{
    return crn_json_block(report->profile, block);
}

static json_t *latency_json(const crn_latency *latency)
{
    json_t *json = json_object();
    crn_json_set_number(json, "count", latency->count);
    json_object_set_new(json, "throughput", json_real(latency->throughput));
    crn_json_set_number(json, "median", latency->median);
    crn_json_set_number(json, "p90", latency->p90);
    crn_json_set_number(json, "p99", latency->p99);
    crn_json_set_number(json, "max", latency->max);
    return json;
}

static json_t *pool_json(const crn_whatif_report *report, const crn_replay_pool *pool)
{
    json_t *json = json_object(), *blocks = json_array();
    for (uint32_t k = 0; k < pool->kinds; k++)
        json_array_append_new(blocks, block_json(report, pool->blocks[k]));
    crn_json_set_number(json, "threads", pool->lanes);
    crn_json_set_number(json, "jobs", pool->jobs);
    json_object_set_new(json, "by_kind", json_boolean(pool->by_kind));
    json_object_set_new(json, "blocks", blocks);
    return json;
}

static json_t *lane_json(const crn_whatif_report *report, const crn_replay_lane *lane)
{
    json_t *json = json_object();
    json_object_set_new(json, "lane", crn_json_text(report->trace->lanes[lane->lane]));
    crn_json_set_number(json, "unexplained", lane->unexplained);
    crn_json_set_number(json, "outside", lane->outside);
    return json;
}

static json_t *reasons_json(const crn_whatif_report *report)
{
    json_t *json = json_array();
    const char *at = report->reasons ? report->reasons : "";
    while (*at) {
        size_t length = strcspn(at, "\n");
        json_t *line = json_stringn_nocheck(at, length);
        json_array_append_new(json, line ? line : json_string(""));
        at += length + (at[length] == '\n');
    }
    return json;
}

static void write_model(FILE *out, const crn_whatif_report *report)
{
    const crn_replay_facts *facts = crn_replay_facts_of(report->replay);
    json_t *pools = json_array(), *lanes = json_array();
    for (uint32_t p = 0; p < facts->pool_count; p++)
        json_array_append_new(pools, pool_json(report, &facts->pools[p]));
    for (uint32_t lane = 0; lane < facts->lane_count; lane++)
        if (facts->lanes[lane].unexplained || facts->lanes[lane].outside)
            json_array_append_new(lanes, lane_json(report, &facts->lanes[lane]));
    crn_json_write_member(out, "cores", crn_json_number(facts->cores));
    crn_json_write_member(out, "jobs", crn_json_number(facts->jobs));
    crn_json_write_member(out, "movable", crn_json_number(facts->movable));
    crn_json_write_member(out, "undated", crn_json_number(facts->undated));
    crn_json_write_member(out, "waits", crn_json_number(facts->waits));
    crn_json_write_member(out, "guessed", crn_json_number(facts->guessed));
    crn_json_write_member(out, "contradicted", crn_json_number(facts->contradicted));
    crn_json_write_member(out, "shared", json_boolean(facts->shared));
    crn_json_write_member(out, "work", crn_json_number(facts->work));
    crn_json_write_member(out, "idle", crn_json_number(facts->idle));
    crn_json_write_member(out, "pools", pools);
    crn_json_write_member(out, "lanes", lanes);
}

static json_t *effect_json(const crn_whatif_report *report, const crn_effect *effect)
{
    json_t *json = json_object(), *cells = json_array();
    json_object_set_new(json, "block", block_json(report, effect->block));
    crn_json_set_number(json, "work", effect->work);
    for (int column = 0; column < CRN_EFFECTS; column++) {
        json_t *cell = json_object();
        json_object_set_new(cell, "less", json_real(1 - crn_effect_factors[column]));
        crn_json_set_number(cell, "length", effect->length[column]);
        json_object_set_new(cell, "trusted",
                            json_boolean(!report->reasons && !effect->late[column]));
        json_array_append_new(cells, cell);
    }
    json_object_set_new(json, "effects", cells);
    return json;
}

static void write_effects(FILE *out, const crn_whatif_report *report)
{
    const crn_effects *effects = report->effects;
    json_t *rows = json_array();
    for (uint32_t i = 0; effects && i < effects->count; i++)
        json_array_append_new(rows, effect_json(report, &effects->rows[i]));
    crn_json_write_member(out, "hidden", crn_json_number(effects ? effects->hidden : 0));
    crn_json_write_member(out, "effects", effects ? rows : json_null());
    if (!effects)
        json_decref(rows);
}

void crn_whatif_json(FILE *out, const crn_whatif_report *report)
{
    const crn_replay_facts *facts = crn_replay_facts_of(report->replay);
    fputs("{\"schema\":\"cairn-whatif/1\"", out);
    crn_json_write_member(out, "file", crn_json_text(report->path));
    crn_json_write_member(out, "spans", crn_json_number(report->trace->span_count));
    crn_json_write_member(out, "recorded", crn_json_number(facts->recorded));
    crn_json_write_member(out, "replayed", crn_json_number(facts->replayed));
    crn_json_write_member(out, "drift", json_real(crn_replay_drift(report->replay)));
    crn_json_write_member(out, "trusted", json_boolean(!report->reasons));
    crn_json_write_member(out, "reasons", reasons_json(report));
    crn_json_write_member(out, "ready_known", json_boolean(crn_whatif_knows_ready(report)));
    write_model(out, report);
    crn_json_write_member(out, "predicted", crn_json_number(report->outcome->length));
    crn_json_write_member(out, "loosened", crn_json_number(report->outcome->loosened));
    crn_json_write_member(out, "latency_of",
                          report->block == UINT32_MAX ? json_null()
                                                      : block_json(report, report->block));
    crn_json_write_member(out, "recorded_latency", latency_json(&report->recorded));
    crn_json_write_member(out, "predicted_latency", latency_json(&report->predicted));
    write_effects(out, report);
    fputs("}\n", out);
}
