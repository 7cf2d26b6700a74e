-- Read the items past a number. KEYS: fence, items. ARGV: after, how many.
local deleted = tonumber(string.match(redis.call('GET', KEYS[1]) or '', '^%d+ %S+ (%d+)$')) or 0
local first = math.max(0, tonumber(ARGV[1]) - deleted)
return {deleted + first, redis.call('LRANGE', KEYS[2], first, first + tonumber(ARGV[2]) - 1)}
