"""What Spark's functions do to rows, for those that sqlglot does not know.

The names are those of Spark 4.1, grouped as in its documentation.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGGREGATES: Final = _words(
    """
    percentile_of_frequencies
    bitmap_and_agg count_min_sketch every histogram_numeric hll_sketch_agg hll_union_agg
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float mean schema_of_variant_agg some std
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
    """
)
"""They make one value of many rows."""

GENERATORS: Final = _words(
    """
    collations explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer
    python_worker_logs range sql_keywords stack variant_explode variant_explode_outer
    """
)
"""They make any number of rows of one: all that Spark registers, in SELECT or in FROM."""

SCALARS: Final = _words(
    """
    aes_decrypt array_repeat array_union arrays_overlap assert_true bigint bin binary bround
    btrim cardinality conv crc32 date_part date_trunc_by datepart decimal e expm1 find_in_set
    forall format_number from_avro from_csv from_protobuf from_xml get hash hll_sketch_estimate
    hll_union hypot is_valid_utf8 is_variant_null isnotnull isnull json_array_length
    kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
    kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
    kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float
    kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
    kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float log1p
    luhn_check make_date make_dt_interval make_time make_timestamp_ltz make_timestamp_ntz
    make_valid_utf8 make_ym_interval map_concat map_entries map_filter map_values map_zip_with
    mask nullifzero octet_length pmod positive printf quote raise_error regexp schema_of_avro
    schema_of_csv schema_of_json schema_of_variant schema_of_xml sentences shiftrightunsigned
    smallint st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid theta_difference
    theta_intersection theta_sketch_estimate theta_union timestamp_micros timestamp_millis
    timestamp_seconds tinyint to_avro to_csv to_protobuf to_time to_timestamp_ltz
    to_timestamp_ntz to_varchar to_variant_object to_xml transform_keys transform_values
    trunc_by try_aes_decrypt try_make_interval try_make_timestamp try_make_timestamp_ltz
    try_make_timestamp_ntz try_mod try_parse_json try_parse_url try_to_binary try_to_date
    try_to_number try_to_time try_to_timestamp try_url_decode try_validate_utf8 try_variant_get
    url_decode url_encode validate_utf8 variant_get weekday xpath xpath_boolean xpath_double
    xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string xxhash64 zeroifnull
    zip_with
    """
)
"""They make one value of the values of one row, and the same one each time."""

NONDETERMINISTIC: Final = _words(
    """
    aes_encrypt curdate current_catalog current_database current_schema current_timezone
    current_user getdate input_file_block_length input_file_block_start input_file_name
    java_method localtimestamp
    monotonically_increasing_id now random reflect session_user spark_partition_id sysdate
    try_reflect user uuid version
    """
)
"""They make one value of one row, and are nondeterministic."""
