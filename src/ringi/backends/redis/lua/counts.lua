-- Count what is on each of some lists, as of one moment. KEYS: lists. ARGV: list …
local numbers = {}
for n = 1, #ARGV do
  local head = '(' .. ARGV[n] .. '\0'
  numbers[n] = redis.call('ZLEXCOUNT', KEYS[1], head, head .. ':')
end
return numbers
